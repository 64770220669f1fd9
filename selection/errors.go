package selection

import "fmt"

// IndexError says that a single index lies beyond the ends of its axis. It wraps [ErrInvalid], and a
// [varve.dev/zarr/grid.AxisError] around it says which axis that is.
type IndexError struct{ Index, Extent int64 }

// Error implements error.
func (e *IndexError) Error() string {
	return fmt.Sprintf("%v: index %d of an axis with extent %d", ErrInvalid, e.Index, e.Extent)
}

// Unwrap returns [ErrInvalid].
func (e *IndexError) Unwrap() error { return ErrInvalid }

// NameError says that no dimension has a name. It wraps [ErrInvalid].
type NameError struct {
	Name  string
	Names []string // of the dimensions
}

// Error implements error.
func (e *NameError) Error() string {
	return fmt.Sprintf("%v: no dimension is named %q (there are %q)", ErrInvalid, e.Name, e.Names)
}

// Unwrap returns [ErrInvalid].
func (e *NameError) Unwrap() error { return ErrInvalid }
