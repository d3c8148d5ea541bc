package nmring

import (
	"fmt"
	"sync"
	"sync/atomic"
)

// PipeOptions sizes a pipe.
type PipeOptions struct {
	Queues int // 1 by default
	Slots  int // of each ring, 256 by default
	MTU    int // bytes of IP packet, 1500 by default
	MAC    [6]byte
}

// PipePort is one end of a wire in memory: what one end sends, the other receives on
// the queue of the same number, in order. A full receive ring leaves the frames in the
// sender's ring, as netmap's pipes do; only a frame longer than the peer's buffers is
// lost, and counted.
type PipePort struct {
	name   string
	opt    PipeOptions
	region *Region
	rx, tx []*pipeRing
	peer   *PipePort
	host   Host
	events Events
	link   atomic.Bool
	mtu    atomic.Int64
	long   atomic.Uint64 // frames longer than the peer's buffers
}

// pipeRing is a ring with the driver's side of it. The sender's and the receiver's
// owner meet at mu, once for each sync.
type pipeRing struct {
	*Ring
	mu   sync.Mutex
	cur  uint32 // first slot not yet taken back from the user
	tail uint32 // first slot not yet handed to the user
	busy atomic.Bool
}

var _ Port = (*PipePort)(nil)

// NewPipe makes two connected ports named a and b with buffers of regions ra and rb,
// which may be the same. Options of an end may be changed by SetHost and SetEvents
// before its first use.
func NewPipe(a string, ra *Region, b string, rb *Region, opt PipeOptions) (*PipePort, *PipePort, error) {
	pa, err := newPipePort(a, ra, opt)
	if err != nil {
		return nil, nil, err
	}
	pb, err := newPipePort(b, rb, opt)
	if err != nil {
		_ = pa.Close()
		return nil, nil, err
	}
	pa.peer, pb.peer = pb, pa
	return pa, pb, nil
}

func newPipePort(name string, region *Region, opt PipeOptions) (*PipePort, error) {
	if opt.Queues == 0 {
		opt.Queues = 1
	}
	if opt.Slots == 0 {
		opt.Slots = 256
	}
	if opt.MTU == 0 {
		opt.MTU = 1500
	}
	p := &PipePort{name: name, opt: opt, region: region}
	p.link.Store(true)
	p.mtu.Store(int64(opt.MTU))
	for q := range opt.Queues {
		for _, dir := range []Direction{Receive, Transmit} {
			r, err := NewRing(make([]byte, RingBytes(opt.Slots)), region, q, dir, opt.Slots)
			if err != nil {
				_ = p.Close()
				return nil, fmt.Errorf("pipe %s: %w", name, err)
			}
			pr := &pipeRing{Ring: r, tail: r.Tail()}
			if dir == Receive {
				p.rx = append(p.rx, pr)
			} else {
				p.tx = append(p.tx, pr)
			}
		}
	}
	return p, nil
}

func (p *PipePort) Queues() int    { return p.opt.Queues }
func (p *PipePort) RX(q int) *Ring { return p.rx[q].Ring }
func (p *PipePort) TX(q int) *Ring { return p.tx[q].Ring }
func (p *PipePort) PollFD(int) int { return -1 }
func (p *PipePort) Host() Host     { return p.host }

// SetHost gives the port a host path.
func (p *PipePort) SetHost(h Host) { p.host = h }

// SetEvents sets the receiver of the port's events.
func (p *PipePort) SetEvents(e Events) { p.events = e }

// SetMAC sets the port's address.
func (p *PipePort) SetMAC(mac [6]byte) { p.opt.MAC = mac }

// SetLink changes the link state and tells it.
func (p *PipePort) SetLink(up bool) {
	if p.link.Swap(up) != up && p.events.Link != nil {
		p.events.Link(up)
	}
}

// RxSync takes back what the user has read and shows what the peer has sent.
func (p *PipePort) RxSync(q int) error {
	r := p.rx[q]
	r.enter()
	defer r.leave()
	r.cur = r.Head()
	r.SetTail(r.tail)
	return nil
}

// TxSync moves what the user has sent into the peer's receive ring as far as it has
// room, and gives the slots back.
func (p *PipePort) TxSync(q int) error {
	t, r := p.tx[q], p.peer.rx[q]
	t.enter()
	defer t.leave()
	r.mu.Lock()
	defer r.mu.Unlock()
	for head := t.Head(); t.cur != head; t.cur = t.Next(t.cur) {
		next := r.Next(r.tail)
		if next == r.cur {
			break
		}
		if !Move(t.Ring, t.Slot(t.cur), r.Ring, r.Slot(r.tail)) {
			p.long.Add(1)
			continue
		}
		r.tail = next
	}
	t.SetTail(t.Add(t.cur, t.Slots()-1))
	return nil
}

// enter asserts that nobody else syncs this ring.
func (r *pipeRing) enter() {
	if !r.busy.CompareAndSwap(false, true) {
		panic(fmt.Sprintf("nmring: two goroutines sync ring %d at once", r.ID()))
	}
	r.mu.Lock()
}

func (r *pipeRing) leave() {
	r.mu.Unlock()
	r.busy.Store(false)
}

// Configure takes the MTU; a pipe has no kernel side.
func (p *PipePort) Configure(s Settings) error {
	if s.MTU != 0 {
		p.mtu.Store(int64(s.MTU))
	}
	return nil
}

// Info describes the pipe.
func (p *PipePort) Info() Info {
	return Info{Driver: "pipe", Mode: "memory", Device: p.name, MAC: p.opt.MAC,
		MTU: int(p.mtu.Load()), Up: p.link.Load()}
}

// Counters tell the one way in which a pipe loses a frame.
func (p *PipePort) Counters(int) []Counter {
	return []Counter{{Name: "tx_longer_than_peer_buffer", Value: p.long.Load()}}
}

// Close frees the buffers of this end.
func (p *PipePort) Close() error {
	for _, r := range append(p.rx, p.tx...) {
		p.region.GiveRing(r.Ring)
	}
	p.rx, p.tx = nil, nil
	return nil
}
