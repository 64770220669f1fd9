// SPDX-License-Identifier: Apache-2.0

package failure_test

import (
	"context"
	"errors"
	"reflect"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memstore"
)

// TestOn compares errors of this package with those of the root package.
func TestOn(t *testing.T) {
	ctx := context.Background()
	a, err := zarr.At(memstore.New(), "t").CreateArray(ctx, zarr.Spec{Shape: []int64{4}, Type: dtype.Int8}, nil)
	if err != nil {
		t.Fatal(err)
	}
	_, want := zarr.Read[int8](ctx, a, selection.Box{{0, 9}})
	var root *zarr.Error
	if !errors.As(want, &root) {
		t.Fatal(want)
	}
	if is := failure.On(a, root.Op, root.Err); !reflect.DeepEqual(is, want) {
		t.Errorf("%#v, want %#v", is, want)
	}
	if is := failure.On(a, "copy", want); is != want {
		t.Errorf("an error with an operation became %v", is)
	}
	if is := failure.On(a, "copy", nil); is != nil {
		t.Error(is)
	}
}
