//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "peers: it pins processes to a CPU by Linux means; run it on Linux")
	os.Exit(1)
}
