// SPDX-License-Identifier: Apache-2.0

package grid

// BoundedName is the name of a regular grid whose last chunks are stored only up to the
// end of the array. It is an experiment of zarrs (chunk grid "zarrs.regular_bounded").
const BoundedName = "zarrs.regular_bounded"

// EveryTrimmed cuts an axis like [Every], but its last chunk is stored only up to the
// extent. A grid trims either all of its axes or none; its name is then [BoundedName].
// Few programs read such grids. Listed edges that end at the extent ([Grid.Unlocked])
// store the same chunks in a specified form.
func EveryTrimmed(length int64) Cut { return Cut{step: length, trimmed: true} }

// Bounded returns a grid of chunks of one shape. The last chunks are stored only up to
// the end of the array.
func Bounded(shape, chunk []int64) (*Grid, error) {
	cuts := make([]Cut, len(chunk))
	for i, n := range chunk {
		cuts[i] = EveryTrimmed(n)
	}
	return newGrid(BoundedName, shape, cuts)
}

// IsTrimmed reports whether the last chunk is stored only up to the extent
// ([EveryTrimmed]).
func (a Axis) IsTrimmed() bool { return a.stored == trimmed }

// checkKept returns an error if another extent would change the length of a stored chunk
// of a trimmed axis. The metadata and the chunk would have to change in one step.
func (a Axis) checkKept(extent int64) error {
	// Chunks before the smaller extent are whole under both extents. A chunk that the
	// smaller extent cuts would change its length.
	if n := min(a.extent, extent); a.IsTrimmed() && extent != a.extent && n%a.step != 0 {
		return invalid("resizing from extent %d to %d would change the stored length of the trimmed chunk %d: unlock the axis first",
			a.extent, extent, n/a.step)
	}
	return nil
}
