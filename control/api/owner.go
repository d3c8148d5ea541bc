package api

import (
	"io/fs"
	"strconv"
	"syscall"
)

// groupOfFile returns the id of the group that owns a file.
func groupOfFile(info fs.FileInfo) (string, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return "", false
	}
	return strconv.FormatUint(uint64(st.Gid), 10), true
}
