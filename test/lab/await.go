//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Await looks at a condition, which is nil when it holds, until it does or the
// context ends. The error says what was waited for and why it did not hold last.
func Await(ctx context.Context, what string, condition func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := condition()
		if err == nil {
			return nil
		}
		if final, ok := errors.AsType[neverError](err); ok {
			return fmt.Errorf("waited for %s: %w", what, final.error)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("waited for %s: %w: %w", what, context.Cause(ctx), err)
		}
	}
}

type neverError struct{ error }

// Never marks a condition's error as one that waiting will not mend.
func Never(err error) error { return neverError{err} }
