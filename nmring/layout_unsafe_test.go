package nmring

import (
	"testing"
	"unsafe"
)

// The offsets are those that a FreeBSD 14 and a Linux kernel printed for API 14.
func TestLayoutIsNetmaps(t *testing.T) {
	var h header
	var s Slot
	for _, c := range []struct {
		field     string
		got, want uintptr
	}{
		{"netmap_ring", unsafe.Sizeof(h), 256},
		{"buf_ofs", unsafe.Offsetof(h.bufOfs), 0},
		{"num_slots", unsafe.Offsetof(h.numSlots), 8},
		{"nr_buf_size", unsafe.Offsetof(h.bufSize), 12},
		{"ringid", unsafe.Offsetof(h.ringID), 16},
		{"dir", unsafe.Offsetof(h.dir), 18},
		{"head", unsafe.Offsetof(h.head), 20},
		{"cur", unsafe.Offsetof(h.cur), 24},
		{"tail", unsafe.Offsetof(h.tail), 28},
		{"flags", unsafe.Offsetof(h.flags), 32},
		{"ts", unsafe.Offsetof(h.ts), 40},
		{"offset_mask", unsafe.Offsetof(h.offsetMask), 56},
		{"buf_align", unsafe.Offsetof(h.bufAlign), 64},
		{"sem", unsafe.Offsetof(h.sem), 128},
		{"netmap_slot", unsafe.Sizeof(s), 16},
		{"buf_idx", unsafe.Offsetof(s.BufIdx), 0},
		{"len", unsafe.Offsetof(s.Len), 4},
		{"flags of slot", unsafe.Offsetof(s.Flags), 6},
		{"ptr", unsafe.Offsetof(s.Ptr), 8},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, netmap has %d", c.field, c.got, c.want)
		}
	}
}

// A ring made here, read byte by byte as another program would.
func TestRingInMemoryReadsAsNetmap(t *testing.T) {
	const slots = 8
	mem := make([]byte, RingBytes(slots)+64*Stride)
	region, err := NewRegion(mem[RingBytes(slots):], Stride)
	if err != nil {
		t.Fatal(err)
	}
	r, err := NewRing(mem, region, 3, Transmit, slots)
	if err != nil {
		t.Fatal(err)
	}
	u32 := func(at int) uint32 { return *(*uint32)(unsafe.Pointer(&mem[at])) }
	u16 := func(at int) uint16 { return *(*uint16)(unsafe.Pointer(&mem[at])) }
	if u32(8) != slots || u32(12) != Stride || u16(16) != 3 || u16(18) != 1 || u32(20) != 0 || u32(28) != slots-1 {
		t.Errorf("header: num_slots %d, buf_size %d, ringid %d, dir %d, head %d, tail %d",
			u32(8), u32(12), u16(16), u16(18), u32(20), u32(28))
	}
	bufOfs := *(*int64)(unsafe.Pointer(&mem[0]))
	if bufOfs != int64(RingBytes(slots)) {
		t.Errorf("buf_ofs %d, buffers are at %d", bufOfs, RingBytes(slots))
	}
	Put(r, r.Slot(5), []byte("frame"))
	idx, at := u32(256+5*16), int64(0)
	if at = bufOfs + int64(idx)*Stride; string(mem[at:at+5]) != "frame" {
		t.Errorf("buffer %d holds %q", idx, mem[at:at+5])
	}
	if got := u16(256 + 5*16 + 4); got != 5 {
		t.Errorf("slot length %d", got)
	}

	opened, err := OpenRing(mem, 0, region)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(opened.Frame(5)); got != "frame" {
		t.Errorf("opened ring holds %q", got)
	}
}

func FuzzOpenRing(f *testing.F) {
	good := make([]byte, 4096)
	region, _ := NewRegion(make([]byte, 64*64), 64)
	if _, err := NewRing(good, region, 0, Receive, 16); err != nil {
		f.Fatal(err)
	}
	f.Add(good, 0)
	f.Add([]byte{}, 0)
	f.Add(make([]byte, 256), -8)
	f.Fuzz(func(t *testing.T, image []byte, offset int) {
		// The bytes stand in front of buffers of 64 bytes in memory of the right
		// alignment, as a mapping would have them.
		words := make([]uint64, (len(image)+7)/8+16*64/8)
		mem := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(words)*8)
		copy(mem, image)
		region, err := NewRegion(mem[len(mem)-16*64:], 64)
		if err != nil {
			t.Fatal(err)
		}
		r, err := OpenRing(mem, offset, region)
		if err != nil {
			return
		}
		for i := range r.Slots() {
			_ = r.Frame(i)
		}
	})
}
