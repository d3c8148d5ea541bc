//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "demo: it is made of Linux network namespaces; run it on Linux")
	os.Exit(1)
}
