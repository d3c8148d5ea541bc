//go:build amd64 && !race

package dataplane

import (
	"unsafe"

	"golang.org/x/sys/cpu"

	"routerd/dataplane/packet"
	"routerd/nmring"
)

// headersAtOnce is how many headers the assembly version checks at once. It can be turned
// off by GODEBUG=cpu.avx512f=off.
var headersAtOnce = func() int {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512DQ {
		return 8
	}
	return 2 * MaxBatch
}()

// headersAVX512 is verifyInGo for n packets from number i on, n a multiple of 8 and at most
// 64, without moving them. Bit k of the result says that packet i+k needs a longer look.
func (w *Worker) headersAVX512(r *receive, i, n int) (bad uint64) {
	return checkHeaders(r.ring.At(0), &w.place[i], &w.length[i], &w.dst[i], n, r.mac)
}

//go:noescape
func checkHeaders(region unsafe.Pointer, place *uintptr, length, dst *uint32, n int, mac uint64) (bad uint64)

// collectAVX512 is the loop of collect for the first n slots from head on, which end before
// the ring does; n is a multiple of 8. It returns the sum of lengths, and whether one of them
// needs the longer look.
func (w *Worker) collectAVX512(ring *nmring.Ring, head, n uint32) (total uint64, odd bool) {
	total, bad := collectSlots(unsafe.Pointer(ring.Slot(head)), int(n), &w.place[0], &w.length[0],
		uint64(ring.BufSize()), ring.OffsetMask(), uint64(ring.BufSize()))
	return total, bad != 0
}

//go:noescape
func collectSlots(slots unsafe.Pointer, n int, place *uintptr, length *uint32, stride, mask, size uint64) (total, odd uint64)

// The assembly has these for itself.
const (
	_ = -uint(packet.EthernetLen ^ 14)
	_ = -uint(packet.IPv4Len ^ 20)
	_ = -uint(packet.MinFrame ^ 60)
	_ = -uint(shortest ^ 34)
	_ = -uint(nmring.MoreFrag ^ 0x20)
)
