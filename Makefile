# routerd. Needs Go and make; the demo and the end-to-end tests need Linux, root and iproute2.
GO       ?= go
PREFIX   ?= /usr/local
DESTDIR  ?=
VERSION  := $(or $(shell git describe --tags --always --dirty 2>/dev/null),development)
BUILD    := CGO_ENABLED=0 $(GO) build -trimpath -ldflags '-X main.version=$(VERSION)'
PACKAGES := bird2 gcc libc6-dev iproute2
UNIT     = $$($(GO) list ./... | grep -v /test/)
CROSS    := linux/amd64 linux/arm64 freebsd/amd64

.PHONY: build demo demo-clean test packages lint bench cross fmt install clean

build: ## bin/routerd and bin/routerctl, static
	$(BUILD) -o bin/ ./cmd/routerd ./cmd/routerctl

demo: build ## a whole network in namespaces; KEEP=1 leaves it running
	$(BUILD) -o bin/ ./test/speaker ./test/demo
	bin/demo $(if $(KEEP),-keep)

demo-clean: ## takes down what make demo KEEP=1 left
	$(GO) run ./test/demo -clean

test: packages lint ## everything; end-to-end tests skip where they cannot run
	$(GO) test $(UNIT)
	@if command -v gcc >/dev/null; then CGO_ENABLED=1 $(GO) test -race -short $(UNIT); else echo "no gcc: race detector skipped"; fi
	$(GO) test -p 1 -count 1 -timeout 12m -v ./test/...
	@if command -v gcc >/dev/null; then ROUTERD_RACE=1 $(GO) test -count 1 -timeout 5m -v -run 'Reload|Killed|Crashed|RoutesOfGoBGP' ./test/e2e; fi

packages: ## Debian packages of the tests, as root only
	@if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		dpkg -s $(PACKAGES) >/dev/null 2>&1 || { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -qy $(PACKAGES); }; \
	else echo "no root or no apt: tests that need $(PACKAGES) may skip"; fi

lint:
	@files=$$(gofmt -l $$(git ls-files '*.go')); [ -z "$$files" ] || { echo "gofmt: $$files"; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

bench: ## lookups, the whole loop, two workers, gaps, veth and peers: under five minutes
	@mkdir -p bin
	@$(GO) build -o bin/loop ./test/bench/loop
	@echo "# $$(date -u +%F), $$(uname -sr), $$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -1)"
	@echo; echo "# fib and packet loop as Go benchmarks, for benchstat"
	@$(GO) test -run '^$$' -bench 'LookupBatch|Load$$|Update' -benchtime 0.5s ./fib
	@$(GO) test -run '^$$' -bench 'Forward$$' -benchtime 20000000x ./dataplane
	@echo; echo "# whole loop"
	@for s in rnd pfx zipf few; do bin/loop -stream $$s -seconds 3 || exit 1; done
	@bin/loop -flows fixed -seconds 3
	@if [ "$$(nproc)" -gt 1 ]; then echo; echo "# two workers"; bin/loop -workers 2 -seconds 4 && \
		echo && echo "# gaps between rounds" && bin/loop -gap -seconds 10; fi
	@echo; echo "# veth, beside the kernel (needs root)"
	@$(GO) test -run '^$$' -bench 'Forwarding$$' -benchtime 1x ./test/e2e
	@echo; echo "# lookups beside DPDK (needs libdpdk-dev)"
	@$(GO) run ./test/bench/peers -rounds 7

cross: ## code and tests for every system we build for
	@for target in $(CROSS); do echo "cross $$target"; \
		CGO_ENABLED=0 GOOS=$${target%/*} GOARCH=$${target#*/} sh -c '$(GO) build ./... && $(GO) vet ./...' || exit 1; done

fmt:
	gofmt -w $$(git ls-files '*.go')

install: build
	install -d $(addprefix $(DESTDIR)$(PREFIX)/,sbin share/man/man1 share/man/man5 share/man/man8 share/doc/routerd)
	install bin/routerd bin/routerctl $(DESTDIR)$(PREFIX)/sbin
	install -m 644 etc/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 etc/man/*.5 $(DESTDIR)$(PREFIX)/share/man/man5
	install -m 644 etc/man/*.8 $(DESTDIR)$(PREFIX)/share/man/man8
	install -m 644 etc/routerd.conf $(DESTDIR)$(PREFIX)/share/doc/routerd

clean:
	rm -rf bin
