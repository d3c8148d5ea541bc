package loopback

import (
	"fmt"

	"routerd/nmring"
)

// Options size a port.
type Options struct {
	MAC    [6]byte
	Queues int
	Slots  int // of each ring
	Frames int // in flight on each queue, less than Slots
	Burst  int // most frames that a sync of a receive ring shows
}

// Port is the NIC. Its configuration is fixed, and it has no host path.
type Port struct {
	nmring.Port // nil: what a benchmark does not call
	mac         [6]byte
	queues      []*queue
}

// Frame is the length of the frames in bytes: the shortest of Ethernet.
const Frame = 60

// Source is the address that packets come from.
const Source = 0xc633_6407 // 198.51.100.7, RFC 5737

// New makes a port with buffers of region and its frames in flight.
func New(region *nmring.Region, o Options) (*Port, error) {
	if o.Frames >= o.Slots || o.Burst < 1 {
		return nil, fmt.Errorf("loopback: %d frames in rings of %d slots, bursts of %d", o.Frames, o.Slots, o.Burst)
	}
	p := &Port{mac: o.MAC}
	for i := range o.Queues {
		// A page between two queues' rings keeps their headers out of each other's lines.
		size := (nmring.RingBytes(o.Slots) + 4095) &^ 4095
		memory := Memory(2 * size)
		rx, err := nmring.NewRing(memory[:size], region, i, nmring.Receive, o.Slots)
		if err != nil {
			return nil, fmt.Errorf("loopback: %w", err)
		}
		tx, err := nmring.NewRing(memory[size:], region, i, nmring.Transmit, o.Slots)
		if err != nil {
			return nil, fmt.Errorf("loopback: %w", err)
		}
		q := &queue{rx: rx, tx: tx, burst: uint32(o.Burst), station: station(o.MAC), stream: []uint32{0}}
		frame := firstFrame(o.MAC)
		for s := range uint32(o.Frames) {
			nmring.Put(tx, tx.Slot(s), frame)
		}
		tx.SetHead(uint32(o.Frames))
		p.queues = append(p.queues, q)
	}
	return p, nil
}

// firstFrame is a UDP packet to nowhere, with the fields that a renewal leaves alone.
func firstFrame(mac [6]byte) []byte {
	f := make([]byte, Frame)
	copy(f, mac[:])
	copy(f[6:], []byte{2, 0, 0, 0, 0, 1, 0x08, 0x00, 0x45, 0, 0, Frame - 14, 0, 0, 0x40, 0})
	return f
}

// SetStream makes queue q receive packets to the addresses of stream from index at on,
// again and again. An empty stream makes packets keep their destinations.
func (p *Port) SetStream(q int, stream []uint32, at int) {
	p.queues[q].fixed = len(stream) == 0
	if len(stream) > 0 {
		p.queues[q].stream, p.queues[q].at = stream, at%len(stream)
	}
}

func (p *Port) Queues() int           { return len(p.queues) }
func (p *Port) RX(q int) *nmring.Ring { return p.queues[q].rx }
func (p *Port) TX(q int) *nmring.Ring { return p.queues[q].tx }
func (p *Port) PollFD(int) int        { return -1 }
func (p *Port) Host() nmring.Host     { return nil }
func (p *Port) Info() nmring.Info     { return nmring.Info{Driver: "loopback", MAC: p.mac, Up: true} }
func (p *Port) RxSync(q int) error    { return p.queues[q].receive() }
func (p *Port) TxSync(q int) error    { return p.queues[q].free() }
func (p *Port) Close() error          { return nil }
