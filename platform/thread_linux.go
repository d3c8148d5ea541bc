package platform

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// PinThread makes the calling thread, to which the goroutine must be locked, run on the
// CPU with this number only.
func PinThread(cpu int) error {
	var allowed, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		return fmt.Errorf("cpu %d: %w", cpu, err)
	}
	if cpu >= 0 {
		one.Set(cpu)
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		return fmt.Errorf("cpu %d cannot be used: this process may run on CPUs %s", cpu, ranges(&allowed))
	}
	return nil
}

// ranges writes a set of CPUs as the kernel does: "0-3,8".
func ranges(set *unix.CPUSet) string {
	var parts []string
	const size = len(set) * 64
	for cpu := 0; cpu < size; cpu++ {
		if !set.IsSet(cpu) {
			continue
		}
		first := cpu
		for cpu+1 < size && set.IsSet(cpu+1) {
			cpu++
		}
		part := strconv.Itoa(first)
		if cpu > first {
			part += "-" + strconv.Itoa(cpu)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, ",")
}
