//go:build linux

package afxdp

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// drainPatience is how long Close waits for frames in flight to leave.
const drainPatience = 100 * time.Millisecond

// Close takes the program off, lets frames in flight leave, gives the interface back to
// the kernel as it was, and frees every buffer.
func (p *Port) Close() error {
	p.mu.Lock()
	again := p.closed
	p.closed = true
	p.mu.Unlock()
	if again {
		return fmt.Errorf("xdp:%s: %w", p.ifname, os.ErrClosed)
	}
	if p.loan != nil {
		p.driver.ns.Unwatch(p.index) // without p.mu, which an event's receiver may want
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	var errs []error
	if p.prog != nil {
		errs = append(errs, p.prog.detach())
	}
	if p.arp != nil {
		errs = append(errs, p.arp.Close())
	}
	errs = append(errs, p.closeQueues())
	if p.prog != nil {
		errs = append(errs, p.prog.close())
	}
	if p.loan != nil {
		errs = append(errs, p.loan.Return())
	}
	p.driver.mu.Lock()
	delete(p.driver.ports, p.ifname)
	p.driver.mu.Unlock()
	return errors.Join(errs...)
}

// closeQueues closes the sockets and frees the buffers. Those that a driver might still
// write to stay out of use.
func (p *Port) closeQueues() error {
	p.drain()
	var errs []error
	for _, qu := range p.queues {
		errs = append(errs, qu.socket.close())
	}
	for q, qu := range p.queues {
		if qu.socket.zeroCopy && !p.gone.Load() && !awaitRelease(p.driver.umem, p.index, q) {
			errs = append(errs, fmt.Errorf("the driver keeps the buffers of queue %d: they stay out of use until a restart", q))
			continue
		}
		p.driver.umem.region.Give(qu.rx.buffers()...)
		p.driver.umem.region.Give(qu.tx.buffers()...)
	}
	return errors.Join(errs...)
}

// drain waits, with a limit, until the kernel has sent what it has: drivers have been
// seen to hang when a queue is closed under load.
func (p *Port) drain() {
	deadline := time.Now().Add(drainPatience)
	for _, qu := range p.queues {
		for !p.gone.Load() && qu.tx.kernel.len() > 0 && time.Now().Before(deadline) {
			qu.tx.complete()
			time.Sleep(time.Millisecond)
		}
	}
}
