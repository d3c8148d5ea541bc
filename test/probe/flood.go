//go:build linux

package probe

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"time"
)

// Flood is a stream of numbered UDP packets from one port to another through
// whatever lies between them.
type Flood struct {
	SrcMAC, DstMAC net.HardwareAddr
	Src            netip.Addr
	Dst            []netip.Addr // taken in turn
	TTL            uint8        // as sent; it must arrive one less for every router
	Hops           uint8        // routers between the ports
	PacketsPerSec  int          // 0: as fast as it goes
	// Window bounds the packets under way, 0: no bound. With fewer than the shortest queue
	// on their way holds, a machine that stands still costs packets no time to arrive
	// rather than the packets: what is lost then, the router has lost. While nothing
	// arrives, one packet an interval goes out all the same.
	Window int
}

const (
	floodMagic  = "rdflood1"
	floodOffset = etherLen + ipLen + 8
	floodLen    = floodOffset + len(floodMagic) + 8
	burst       = 64 // packets a system call, a quarter of a veth ring
	interval    = 100 * time.Millisecond
)

// Interval is the fate of the packets sent in one tenth of a second.
type Interval struct {
	Start      time.Duration // since the first packet
	Sent, Lost uint64
}

// Report is what became of a flood.
type Report struct {
	Sent, Received, Lost, Duplicated uint64
	Damaged                          uint64        // arrived with a wrong TTL or header checksum
	Reordered                        uint64        // arrived after a packet with a higher number
	SocketDrops                      uint32        // received by the machine, dropped before this program
	Silence                          time.Duration // the longest time between two arrivals
	Elapsed                          time.Duration
	Intervals                        []Interval // only those that lost packets
}

// Clean reports whether every packet arrived once and sound.
func (r Report) Clean() bool { return r.Lost == 0 && r.Duplicated == 0 && r.Damaged == 0 }

func (r Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "sent %d, received %d, lost %d, duplicated %d, damaged %d, reordered %d, %.0f packets/s",
		r.Sent, r.Received, r.Lost, r.Duplicated, r.Damaged, r.Reordered, float64(r.Received)/r.Elapsed.Seconds())
	if r.Silence > 0 {
		fmt.Fprintf(&b, ", longest silence %v", r.Silence.Round(time.Millisecond))
	}
	if r.SocketDrops > 0 {
		fmt.Fprintf(&b, "; the receiving socket dropped %d of the lost ones", r.SocketDrops)
	}
	for _, i := range r.Intervals {
		fmt.Fprintf(&b, "\n  at %v: lost %d of %d", i.Start, i.Lost, i.Sent)
	}
	return b.String()
}

// Stream is a flood under way.
type Stream struct {
	flood    Flood
	start    time.Time
	halt     context.CancelFunc
	sender   chan error
	receiver chan error
	sent     atomic.Uint64
	received atomic.Uint64
	arrived  atomic.Uint64 // one more than the highest number received
	in       *Port
	stopRecv context.CancelFunc

	marks  []uint64 // sender: packets sent at the end of each interval
	report Report   // receiver
	seen   []uint64 // receiver: a bit for every packet
}

// Start starts a flood. The ports belong to it until Stop. Without a port to, nobody
// looks at what arrives.
func (f Flood) Start(from, to *Port) (*Stream, error) {
	if len(f.Dst) == 0 {
		return nil, errors.New("flood: no destination")
	}
	if to != nil {
		if _, err := to.Drops(); err != nil {
			return nil, err
		}
	}
	sendCtx, halt := context.WithCancel(context.Background())
	recvCtx, stopRecv := context.WithCancel(context.Background())
	s := &Stream{
		flood: f, start: time.Now(), halt: halt, stopRecv: stopRecv, in: to,
		sender: make(chan error, 1), receiver: make(chan error, 1),
	}
	if to != nil {
		go func() { s.receiver <- s.receive(recvCtx) }()
	}
	go func() { s.sender <- s.send(sendCtx, from) }()
	return s, nil
}

// Sent returns how many packets have been sent so far; any goroutine may ask.
func (s *Stream) Sent() uint64 { return s.sent.Load() }

// Received returns how many packets have arrived so far; any goroutine may ask.
func (s *Stream) Received() uint64 { return s.received.Load() }

// Stop ends the sending, waits until the wire has been silent for a second and
// reports.
func (s *Stream) Stop() (Report, error) {
	s.halt()
	err := <-s.sender
	s.report.Elapsed = time.Since(s.start)
	s.report.Sent = s.sent.Load()
	if s.in == nil {
		s.stopRecv()
		return s.report, err
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for last := ^uint64(0); last != s.received.Load() && s.received.Load() < s.report.Sent; {
		last = s.received.Load()
		<-tick.C
	}
	s.stopRecv()
	err = errors.Join(err, <-s.receiver)
	s.count()
	drops, dropsErr := s.in.Drops()
	s.report.SocketDrops = drops
	return s.report, errors.Join(err, dropsErr)
}

// count finds the lost packets and the intervals they were sent in.
func (s *Stream) count() {
	first := uint64(0)
	for i, end := range append(s.marks, s.report.Sent) {
		lost := uint64(0)
		for n := first; n < end; n++ {
			if n/64 >= uint64(len(s.seen)) || s.seen[n/64]>>(n%64)&1 == 0 {
				lost++
			}
		}
		if lost > 0 {
			s.report.Lost += lost
			s.report.Intervals = append(s.report.Intervals,
				Interval{Start: time.Duration(i) * interval, Sent: end - first, Lost: lost})
		}
		first = end
	}
}

func (s *Stream) send(ctx context.Context, out *Port) error {
	raw, err := out.file.SyscallConn()
	if err != nil {
		return err
	}
	frames := s.flood.frames()
	batch := newMessages(frames)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	sent, last := uint64(0), time.Duration(0)
	for next := 0; ctx.Err() == nil; {
		elapsed := time.Since(s.start)
		for time.Duration(len(s.marks)+1)*interval <= elapsed {
			s.marks = append(s.marks, sent)
		}
		due := burst
		if rate := s.flood.PacketsPerSec; rate > 0 {
			due = min(due, int(elapsed.Seconds()*float64(rate))-int(sent))
		}
		if window := s.flood.Window; window > 0 {
			free := window - int(sent-s.arrived.Load())
			if free <= 0 && elapsed-last >= interval {
				free = 1
			}
			due = min(due, free)
		}
		if due <= 0 {
			<-tick.C
			continue
		}
		last = elapsed
		end := min(next+due, len(frames))
		for i, frame := range frames[next:end] {
			binary.BigEndian.PutUint64(frame[floodOffset+len(floodMagic):], sent+uint64(i))
		}
		n, sendErr := 0, error(nil)
		err := raw.Write(func(fd uintptr) bool {
			n, sendErr = batch.send(int(fd), next, end)
			return !wouldBlock(sendErr)
		})
		if err := errors.Join(err, sendErr); err != nil && !noBuffers(sendErr) {
			return fmt.Errorf("flood: %w", err)
		}
		sent += uint64(n)
		s.sent.Store(sent)
		next = (next + n) % len(frames)
	}
	return nil
}

// frames builds one frame for each destination, repeated up to at least a burst.
func (f Flood) frames() [][]byte {
	var frames [][]byte
	payload := append([]byte(floodMagic), make([]byte, 8)...)
	for len(frames) < burst {
		for _, dst := range f.Dst {
			frame := UDP{
				SrcMAC: f.SrcMAC, DstMAC: f.DstMAC, TTL: f.TTL, Payload: payload,
				Src: netip.AddrPortFrom(f.Src, 4000), Dst: netip.AddrPortFrom(dst, 4001),
			}.Frame()
			frame[floodOffset-2], frame[floodOffset-1] = 0, 0 // no UDP checksum: the number changes
			frames = append(frames, frame)
		}
	}
	return frames
}

func (s *Stream) receive(ctx context.Context) error {
	latest := time.Now()
	for {
		frame, err := s.in.Receive(ctx)
		if err != nil {
			if errors.Is(err, context.Canceled) {
				return nil
			}
			return err
		}
		if len(frame) < floodLen || string(frame[floodOffset:floodOffset+len(floodMagic)]) != floodMagic {
			continue
		}
		number := binary.BigEndian.Uint64(frame[floodOffset+len(floodMagic):])
		ip := frame[etherLen : etherLen+ipLen]
		if ip[8] != s.flood.TTL-s.flood.Hops || sum(ip, 0) != 0xffff {
			s.report.Damaged++
			continue
		}
		for uint64(len(s.seen)) <= number/64 {
			s.seen = append(s.seen, 0)
		}
		if s.seen[number/64]>>(number%64)&1 == 1 {
			s.report.Duplicated++
			continue
		}
		s.seen[number/64] |= 1 << (number % 64)
		if number < s.arrived.Load() {
			s.report.Reordered++
		} else {
			s.arrived.Store(number + 1)
		}
		s.report.Silence = max(s.report.Silence, time.Since(latest))
		latest = time.Now()
		s.report.Received++
		s.received.Store(s.report.Received)
	}
}
