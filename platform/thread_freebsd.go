package platform

import "fmt"

// PinThread makes the calling thread run on one CPU only; not on FreeBSD yet.
func PinThread(cpu int) error {
	return fmt.Errorf("cpu %d: threads cannot be pinned on FreeBSD by this version: leave cpus out of the dataplane block and use cpuset(1)", cpu)
}
