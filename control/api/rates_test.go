package api

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestRates(t *testing.T) {
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return start.Add(time.Duration(seconds) * time.Second) }
	// read is a port that receives 100 packets of 60 bytes a second, all on queue 1.
	read := func(seconds uint64) []Port {
		c := Counters{InPkts: 100 * seconds, InOctets: 6000 * seconds}
		return []Port{{Name: "xe0", Counters: c, Queues: []Queue{{ID: 0}, {ID: 1, Counters: c}}}}
	}
	r := newRates()
	ports := read(7)
	r.fill(at(7), ports)
	if ports[0].Rates != (Rates{}) {
		t.Errorf("rates from no sample: %+v", ports[0].Rates)
	}
	for i := range 20 {
		r.add(at(i), read(uint64(i)))
	}
	ports = read(20)
	r.fill(at(20), ports)
	want := Rates{Window: 5, InPPS: 100, InBPS: 48_000}
	if diff := cmp.Diff([]Rates{want, {Window: 5}, want}, []Rates{ports[0].Rates, ports[0].Queues[0].Rates, ports[0].Queues[1].Rates}); diff != "" {
		t.Errorf("rates of port and queues (-want +got):\n%s", diff)
	}

	restarted := []Port{{Name: "xe0", Counters: Counters{InPkts: 3}}, {Name: "new"}}
	r.fill(at(20), restarted)
	if restarted[0].Rates != (Rates{}) || restarted[1].Rates != (Rates{}) {
		t.Errorf("rates after a restart: %+v", restarted)
	}
	own := []Port{{Name: "xe0", Rates: Rates{Window: 1, InPPS: 5}}}
	r.fill(at(20), own)
	if own[0].Rates.InPPS != 5 {
		t.Error("the Backend's own rates are overwritten")
	}
}
