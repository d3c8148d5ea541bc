//go:build linux

package afxdp

import "math/bits"

// ledger is the set of buffers that the kernel has by one ring.
type ledger []uint64

func newLedger(buffers int) ledger { return make(ledger, (buffers+63)/64) }

func (l ledger) add(buf uint32) { l[buf/64] |= 1 << (buf % 64) }

// remove takes buf out and reports whether it was in.
func (l ledger) remove(buf uint32) bool {
	bit := uint64(1) << (buf % 64)
	had := l[buf/64]&bit != 0
	l[buf/64] &^= bit
	return had
}

// drain empties the ledger and returns what was in it.
func (l ledger) drain() []uint32 {
	var bufs []uint32
	for i, word := range l {
		for ; word != 0; word &= word - 1 {
			bufs = append(bufs, uint32(i*64+bits.TrailingZeros64(word)))
		}
		l[i] = 0
	}
	return bufs
}

// len is the number of buffers in the ledger.
func (l ledger) len() int {
	n := 0
	for _, word := range l {
		n += bits.OnesCount64(word)
	}
	return n
}
