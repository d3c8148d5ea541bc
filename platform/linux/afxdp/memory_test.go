//go:build linux

package afxdp

import (
	"bufio"
	"strings"
	"testing"
)

func TestHugeBytes(t *testing.T) {
	const smaps = `7f0000000000-7f0000200000 rw-p 00000000 00:00 0
Size:               2048 kB
AnonHugePages:         0 kB
7f0000200000-7f0000600000 rw-p 00000000 00:00 0
Size:               4096 kB
AnonHugePages:      4096 kB
VmFlags: rd wr mr mw me ac hg
7f0000600000-7f0000800000 rw-p 00000000 00:00 0 [heap]
AnonHugePages:      2048 kB
`
	for at, want := range map[uint64]uint64{
		0x7f0000000000: 0,
		0x7f0000200000: 4 << 20,
		0x7f00005fffff: 4 << 20,
		0x7f0000600000: 2 << 20,
		0x7f0000800000: 0,
		0:              0,
	} {
		if got := hugeBytes(bufio.NewScanner(strings.NewReader(smaps)), at); got != want {
			t.Errorf("%#x: %d bytes, want %d", at, got, want)
		}
	}
}

func TestBuffersThatCrossAPageAreNotHandedOut(t *testing.T) {
	for _, c := range []struct{ stride, pageSize, usable int }{
		{2048, 4096, 4096 - 2},
		{2176, hugePage, 4096 - 2 - 4}, // 4,096 buffers of 2,176 bytes lie across four borders
	} {
		u, err := layOut(make([]byte, 4096*c.stride), c.stride)
		must(t, err)
		must(t, u.setCrossingAside(c.pageSize))
		if got := u.region.Available(); got != c.usable {
			t.Errorf("stride %d on pages of %d: %d buffers, want %d", c.stride, c.pageSize, got, c.usable)
		}
	}
}
