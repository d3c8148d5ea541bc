package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"routerd/config"
	"routerd/control/api/apitest"
)

// BenchmarkShowFIB prints a table of 900,000 prefixes, server and client together.
func BenchmarkShowFIB(b *testing.B) {
	f := apitest.Edge()
	f.RepeatEntries = 99_999
	socket := serve(b, f, config.AccessRead)
	for _, format := range []string{"text", "json"} {
		b.Run(format, func(b *testing.B) {
			for b.Loop() {
				args := []string{"-s", socket, "show", "fib", "-o", format}
				if code := run(args, strings.NewReader(""), io.Discard, b.Output(), time.Now); code != exitOK {
					b.Fatal(code)
				}
			}
		})
	}
}
