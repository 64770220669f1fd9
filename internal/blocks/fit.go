// SPDX-License-Identifier: Apache-2.0

package blocks

import (
	"fmt"
	"slices"
)

// FitError means that one unit needs more memory than a block may have. A smaller budget
// than its Bytes fits no plan.
type FitError struct {
	IsWrite bool    // the unit is one of the target
	Index   []int64 // position of the first such unit in its grid
	Unit    []int64 // its shape within the array
	Shape   []int64 // shape of the array
	Bytes   int64   // of the unit within the array; the largest int64 if there are more
	Memory  int64   // largest number of bytes of a block
}

// Error names the unit and what it needs.
func (e *FitError) Error() string {
	kind := "read"
	if e.IsWrite {
		kind = "write"
	}
	return fmt.Sprintf("blocks: no block fits into %d bytes: %s unit %v has shape %v and takes %d bytes, in an array of shape %v",
		e.Memory, kind, e.Index, e.Unit, e.Bytes, e.Shape)
}

// fit returns an error if the largest unit of either side exceeds the budget. That of the
// target comes first, because a block is never smaller than one write unit.
func (p *planner) fit(memory int64) error {
	if slices.Contains(p.shape, 0) {
		return nil
	}
	for _, isWrite := range []bool{true, false} {
		units := p.parts
		if isWrite {
			units = p.target
		}
		e := &FitError{IsWrite: isWrite, Shape: p.shape, Memory: memory}
		bytes := count(p.size)
		for _, l := range units {
			e.Index, e.Unit = append(e.Index, l.indexOf(l.longest)), append(e.Unit, l.longest)
			bytes = bytes.times(count(l.longest))
		}
		if e.Bytes = bytes.exact; e.Bytes > memory {
			return e
		}
	}
	return nil
}
