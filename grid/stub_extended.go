package grid

// Extended returns the axis with more edges behind the last; its extent stays. An axis that is not listed wraps
// [ErrInvalid], as lengths and counts below one do; a sum beyond 64 bits is [ErrOverflow].
func (a Axis) Extended(more ...Run) (Axis, error) {
	if a.IsRegular() {
		return Axis{}, invalid("a regular axis has no list of edges to extend")
	}
	var runs []Run
	for r := range a.Edges() {
		runs = append(runs, r)
	}
	return NewAxis(a.extent, Runs(append(runs, more...)...))
}
