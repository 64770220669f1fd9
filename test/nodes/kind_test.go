// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"varve.dev/zarr"
)

// TestKind checks the kinds of errors, above all of those that wrap several errors.
func TestKind(t *testing.T) {
	on := func(err error) error { return &zarr.Error{Op: "write", Path: "a", Axis: -1, Err: err} }
	full := &fs.PathError{Op: "write", Path: "c/0", Err: syscall.ENOSPC}
	for _, c := range []struct {
		err  error
		want zarr.Kind
	}{
		{context.Canceled, "canceled"},
		{on(fmt.Errorf("chunk: %w", context.Canceled)), "canceled"},
		{errors.Join(context.Canceled, on(context.Canceled)), "canceled"},
		{errors.Join(context.Canceled, errors.New("EIO")), "io"},
		{errors.Join(on(full), context.Canceled), "no-space"},
		{fmt.Errorf("%w: %w", context.Canceled, syscall.EDQUOT), "no-space"},
		{fmt.Errorf("%w: %w", zarr.ErrDecided, context.Canceled), "decided"},
		{fmt.Errorf("%w: %w", zarr.ErrOutcomeUnknown, context.Canceled), "outcome-unknown"},
		{context.DeadlineExceeded, "timeout"},
		{on(os.ErrDeadlineExceeded), "timeout"},
		{&net.OpError{Op: "dial", Err: &net.DNSError{IsTimeout: true}}, "timeout"},
		{syscall.EAGAIN, "io"},
		{fmt.Errorf("%w: zarr.json", zarr.ErrSourceChanged), "source-changed"},
		{zarr.ErrConflict, "conflict"},
		{errors.New("broken"), "io"},
	} {
		if got := zarr.KindOf(c.err); got != c.want {
			t.Errorf("%v is %q, want %q", c.err, got, c.want)
		}
	}
	if !errors.Is(zarr.ErrSourceChanged, zarr.ErrConflict) {
		t.Error("ErrSourceChanged is not a conflict")
	}
}
