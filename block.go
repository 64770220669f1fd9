package zarr

import (
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/snapshot"
)

// Block is a piece of an array in memory: its shape and its elements in C order.
type Block[T dtype.Element] struct {
	Shape []int64
	Data  []T
}

// newBlock returns a block for what is selected, all of it zero.
func newBlock[T dtype.Element](r *snapshot.Selected) Block[T] {
	return Block[T]{r.Shape(), make([]T, r.Len())}
}
