// SPDX-License-Identifier: Apache-2.0

package fence

import (
	"errors"
	"fmt"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/vfs"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/transfer"
)

// TestSingleWriterWithoutLocks changes nodes in a directory on a file system without
// locks. This succeeds with Options that declare a single writer, and is refused
// without.
func TestSingleWriterWithoutLocks(t *testing.T) {
	for _, lacks := range []error{syscall.ENOSYS, syscall.EOPNOTSUPP, errors.ErrUnsupported} {
		for _, format := range []int{2, 3} {
			h := zarr.At(fixture.FileStore(vfs.Hook(vfs.NewDisk(), func(op vfs.Op) error {
				if op.Kind == "lock" {
					return lacks
				}
				return nil
			})), "")
			if err := withoutLocks(t, h, format); err != nil {
				t.Errorf("%v, format %d: %v", lacks, format, err)
			}
		}
	}
}

func withoutLocks(t *testing.T, h *zarr.Location, format int) error {
	ctx := t.Context()
	alone := zarr.Options{Write: true, SingleWriter: true}
	a, err := h.At("g/a").CreateArray(ctx, fixture.Every(6, 4), &zarr.CreateOptions{Options: alone, Format: format})
	if err != nil {
		return err
	}
	careful, err := h.At("g/a").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		return err
	}
	if err := zarr.Append(ctx, careful, 0, fixture.Numbers(7, 3), nil); !errors.Is(err, zarr.ErrUnsafeConcurrentWrite) {
		return fmt.Errorf("an append without SingleWriter: error is %v", err)
	}
	if err := careful.UpdateAttributes(ctx, setK); format == 3 && !errors.Is(err, zarr.ErrUnsafeConcurrentWrite) {
		return fmt.Errorf("a change of attributes without SingleWriter: error is %v", err)
	}
	for what, change := range map[string]func() error{
		"delete": func() error { return h.At("g/a").Delete(ctx, &zarr.Options{Write: true}) },
		"overwrite": func() error {
			_, err := h.At("g/a").CreateArray(ctx, fixture.Every(6, 4), &zarr.CreateOptions{Overwrite: true, Format: format})
			return err
		},
		"move": func() error {
			_, err := transfer.Move(ctx, h.At("g/a"), h.At("g/moved"), nil)
			if _, found := h.At("g/moved").Open(ctx, nil); found == nil {
				t.Error("a copy was made of a node that cannot be removed")
			}
			return err
		},
		"copy over it": func() error {
			_, err := transfer.Copy(ctx, h.At("g/a"), h.At("g/b"), nil)
			if err != nil {
				return err
			}
			_, err = transfer.Copy(ctx, h.At("g/b"), h.At("g/a"), &transfer.Options{Overwrite: true})
			return err
		},
	} {
		if err := change(); !errors.Is(err, zarr.ErrUnsafeConcurrentWrite) {
			return fmt.Errorf("%s without SingleWriter: error is %v", what, err)
		}
	}
	for what, err := range map[string]error{
		"write":         zarr.Write(ctx, a, nil, fixture.Numbers(1, 6)),
		"write in part": zarr.Write(ctx, a, selection.Box{{1, 3}}, fixture.Numbers(2, 2)),
	} {
		if err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	if err := zarr.Append(ctx, a, 0, fixture.Numbers(7, 3), nil); err != nil {
		return fmt.Errorf("append: %w", err)
	}
	if err := a.UpdateAttributes(ctx, setK); err != nil {
		return fmt.Errorf("attributes: %w", err)
	}
	got, err := zarr.Read[int32](ctx, a, nil)
	if err != nil || !fixture.OfRows(got.Data).Equal(fixture.OfRows(fixture.Numbers(1, 9))) {
		return fmt.Errorf("read: %v, %w", got.Data, err)
	}
	g, err := h.At("g").OpenGroup(ctx, &alone)
	if err == nil {
		err = g.UpdateAttributes(ctx, setK)
	}
	if err != nil {
		return fmt.Errorf("attributes of the group: %w", err)
	}
	if err := a.Resize(ctx, []int64{2}, nil); err != nil {
		return fmt.Errorf("resize: %w", err)
	}
	if _, err := h.At("g/a").CreateArray(ctx, fixture.Every(6, 4), &zarr.CreateOptions{Options: alone, Overwrite: true, Format: format}); err != nil {
		return fmt.Errorf("overwrite: %w", err)
	}
	return h.At("g/a").Delete(ctx, &alone)
}

// setK sets the attributes to {"k": 1}.
func setK([]byte) ([]byte, error) { return []byte(`{"k": 1}`), nil }
