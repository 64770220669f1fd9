package grid

// BoundedName is the name of a regular grid whose last chunks are stored only as far as the array goes (zarrs, chunk grid
// "zarrs.regular_bounded", an experiment of that program).
const BoundedName = "zarrs.regular_bounded"

// EveryTrimmed cuts an axis like [Every], but its last chunk is stored only as far as the extent. All axes of a grid are cut
// so, or none: its name is [BoundedName]. Few programs read it; edges that end at the extent ([Grid.Unlocked]) say the
// same in a form that is specified.
func EveryTrimmed(length int64) Cut { return Cut{step: length, trimmed: true} }

// Bounded cuts an array into chunks of one shape, of which the last ones are stored only as far as the array goes.
func Bounded(shape, chunk []int64) (*Grid, error) {
	cuts := make([]Cut, len(chunk))
	for i, n := range chunk {
		cuts[i] = EveryTrimmed(n)
	}
	return newGrid(BoundedName, shape, cuts)
}

// IsTrimmed reports whether the last chunk is stored only as far as the extent ([EveryTrimmed]).
func (a Axis) IsTrimmed() bool { return a.stored == trimmed }

// checkKept refuses another extent for a trimmed axis if it changed the length of a stored chunk: the document and the chunk
// would have to change in one step.
func (a Axis) checkKept(extent int64) error {
	if n := min(a.extent, extent); a.IsTrimmed() && extent != a.extent && n%a.step != 0 {
		return invalid("from extent %d to %d chunk %d, which is stored as far as the extent, would change its length: unlock the axis first",
			a.extent, extent, n/a.step)
	}
	return nil
}
