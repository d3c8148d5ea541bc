package fib

import "fmt"

// pool hands out the indexes 1 to 32,767 of a table. An index is free, used, or
// waiting for readers.
type pool struct {
	free []uint16
	used int
}

const poolMax = 1<<15 - 1

func (p *pool) take() uint16 {
	i := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	p.used++
	return i
}

func (p *pool) put(i uint16) { p.free = append(p.free, i) }

func (p *pool) usage() Usage {
	return Usage{Used: p.used, Waiting: poolMax - p.used - len(p.free), Max: poolMax}
}

// full returns the error for a pool with nothing free.
func (p *pool) full(sentinel error) error {
	u := p.usage()
	if u.Waiting == 0 {
		return fmt.Errorf("fib: %w: %d of %d in use", sentinel, u.Used, u.Max)
	}
	return fmt.Errorf("fib: %w: %d of %d in use, %d waiting for a worker to pass a quiet point", sentinel, u.Used, u.Max, u.Waiting)
}
