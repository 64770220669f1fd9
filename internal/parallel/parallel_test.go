// SPDX-License-Identifier: Apache-2.0

package parallel_test

import (
	"context"
	"errors"
	"io/fs"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"
	"varve.dev/zarr/internal/parallel"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestFirstFailure checks that Wait returns only the first error, not those of goroutines
// that it cancelled.
func TestFirstFailure(t *testing.T) {
	g, ctx := parallel.New(t.Context())
	for range 8 {
		g.Go(func() error {
			<-ctx.Done()
			return ctx.Err()
		})
	}
	g.Go(func() error { return syscall.ENOSPC })
	<-ctx.Done()
	err := g.Wait(ctx.Err())
	if !errors.Is(err, syscall.ENOSPC) || errors.Is(err, context.Canceled) {
		t.Errorf("the failure is %v, want a full disk alone", err)
	}
}

// TestCaller checks that Wait returns the error of the caller, and an interrupt by the
// caller.
func TestCaller(t *testing.T) {
	g, ctx := parallel.New(t.Context())
	g.Go(func() error {
		<-ctx.Done()
		return ctx.Err()
	})
	if err := g.Wait(syscall.EIO); !errors.Is(err, syscall.EIO) {
		t.Errorf("the failure is %v, want that of the caller", err)
	}
	outer, cancel := context.WithCancel(t.Context())
	g, _ = parallel.New(outer)
	g.SetLimit(1)
	cancel()
	if err := g.Wait(nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the failure is %v, want the interrupt", err)
	}
	g, ctx = parallel.New(t.Context())
	g.Go(func() error { return nil })
	if err := g.Wait(nil); err != nil || ctx.Err() == nil {
		t.Errorf("%v, and the context ends with %v", err, ctx.Err())
	}
}

// TestPanic expects a panic as an error, and that a goroutine may end itself, as those of
// tests do.
func TestPanic(t *testing.T) {
	g, ctx := parallel.New(t.Context())
	g.SetLimit(1)
	g.Go(func() error { panic(fs.ErrNotExist) })
	<-ctx.Done()
	err := g.Wait(nil)
	if err == nil || errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "panic: file does not exist") || !strings.Contains(err.Error(), "TestPanic") {
		t.Errorf("the failure is %v", err)
	}
	g, _ = parallel.New(t.Context())
	g.Go(func() error {
		runtime.Goexit()
		return nil
	})
	if err := g.Wait(nil); err != nil {
		t.Error(err)
	}
}
