//go:build linux

package afxdp

import (
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/asm"
	"github.com/cilium/ebpf/link"
	"golang.org/x/sys/unix"
)

// flood sends frames by sendmmsg until stop says so.
func flood(fd int, frames [][]byte, stop *atomic.Bool) {
	type message struct {
		header unix.Msghdr
		length uint32
		_      uint32
	}
	messages := make([]message, len(frames))
	vectors := make([]unix.Iovec, len(frames))
	for i, f := range frames {
		vectors[i] = unix.Iovec{Base: &f[0], Len: uint64(len(f))}
		messages[i].header.Iov, messages[i].header.Iovlen = &vectors[i], 1
	}
	for !stop.Load() {
		_, _, _ = unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&messages[0])), uintptr(len(messages)), 0, 0, 0)
	}
}

// BenchmarkForward moves 60-byte frames from one veth pair to another, in one worker.
func BenchmarkForward(b *testing.B) {
	enterNamespace(b)
	layVeth(b, "xa", "pa", 1)
	layVeth(b, "xb", "pb", 1)
	d := newDriver(b, b.TempDir())
	in := openPort(b, d, "xa", OpenOptions{})
	out := openPort(b, d, "xb", OpenOptions{})
	drop, err := ebpf.NewProgram(&ebpf.ProgramSpec{Type: ebpf.XDP, License: "GPL",
		Instructions: asm.Instructions{asm.Mov.Imm(asm.R0, 1), asm.Return()}})
	must(b, err)
	defer drop.Close()
	sink, err := link.AttachXDP(link.XDPOptions{Program: drop, Interface: linkOf(b, "pb").Attrs().Index})
	must(b, err)
	defer sink.Close()

	w := newWire(b, "pa")
	frames := make([][]byte, 64)
	for i := range frames {
		frames[i] = udp(in.Info().MAC, [6]byte{2}, transit, uint32(i), 18)
	}
	var stop atomic.Bool
	done := make(chan struct{})
	go func() { flood(w.fd, frames, &stop); close(done) }()
	defer func() { stop.Store(true); <-done }()
	awaitFrames(b, in, 0)
	b.ResetTimer()
	moved, before := 0, threadTime(b)
	for moved < b.N {
		n, err := forward(in, out, 0)
		must(b, err)
		moved += n
	}
	b.ReportMetric(float64(moved)/b.Elapsed().Seconds(), "frames/s")
	b.ReportMetric(float64(threadTime(b)-before)/float64(moved), "CPU-ns/frame")
}

// threadTime is the CPU time that this thread has used, in nanoseconds.
func threadTime(b *testing.B) int64 {
	var r unix.Rusage
	must(b, unix.Getrusage(unix.RUSAGE_THREAD, &r))
	return r.Utime.Nano() + r.Stime.Nano()
}
