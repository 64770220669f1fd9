package zarr_test

import (
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store/memory"
	"varve.dev/zarr/store/storetest"
)

// TestStoreThatCannotBeCompared writes to a store whose type can be compared, but not its value: a wrapper of one with functions.
func TestStoreThatCannotBeCompared(t *testing.T) {
	s := struct{ storetest.ObjectStore }{storetest.Conditional(memory.New(), storetest.Hooks{})}
	a, err := zarr.On(s).CreateArray(t.Context(), "", every(6, 4), nil)
	if err == nil {
		err = zarr.Write(t.Context(), a, selection.Box{{3, 6}}, numbers(1, 3))
	}
	if err != nil {
		t.Fatal(err)
	}
}
