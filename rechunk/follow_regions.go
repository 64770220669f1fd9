// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"fmt"
	"slices"

	"varve.dev/zarr/grid"
)

// region is a box of elements to be stored. Elements outside of the valid shape are not
// there yet. A nil shape is that of the array.
type region struct {
	box   grid.Box
	valid []int64
}

// findRegions returns the elements that are to be stored, in this order.
func (u *update) findRegions() []region {
	var list []region
	valid := commonShape(u.now.Grid, u.next.Grid)
	for _, box := range joined(u.next.Grid, u.changed) {
		list = append(list, region{box, slices.Clone(valid)})
	}
	// New elements, axis by axis: those of one are there when the next one grows.
	for i := range valid {
		box := grid.BoxOf(valid)
		box[i] = grid.Interval{Start: valid[i], Stop: u.next.Grid.Axis(i).Extent()}
		if n, ok := box.Len(); n > 0 || !ok {
			list = append(list, region{box, slices.Clone(valid)})
		}
		valid[i] = box[i].Stop
	}
	for _, box := range u.recut {
		list = append(list, region{box, nil})
	}
	return list
}

// findRecut returns the boxes of the elements of chunks that are stored in another shape
// than before. Only the last chunk of a calendar is.
func (u *update) findRecut() []grid.Box {
	var boxes []grid.Box
	all := grid.BoxOf(u.next.Grid.Shape())
	for i := range all {
		was, is := u.now.Grid.Axis(i), u.next.Grid.Axis(i)
		k := min(was.Chunks(), is.Chunks()) - 1
		before, _ := was.Cell(k)
		after, ok := is.Cell(k)
		if !ok || before.Start == after.Start && before.Encoded == after.Encoded {
			continue
		}
		box := slices.Clone(all)
		box[i] = grid.Interval{Start: after.Start, Stop: after.Start + after.Logical}
		boxes = append(boxes, box)
	}
	return boxes
}

// written returns how many chunks are written, each as often as it is.
func (u *update) written() (n int, err error) {
	for _, r := range u.regions {
		chunks, err := u.next.Grid.Touched(r.box)
		if err != nil {
			return 0, err
		}
		k, _ := chunks.Len()
		n += int(k)
	}
	return n, nil
}

// joined joins boxes of elements that are in the same chunks, so that each chunk is
// written once for them, and then those that lie next to each other along one axis.
func joined(g *grid.Grid, boxes []grid.Box) []grid.Box {
	if len(boxes) == 0 {
		return nil
	}
	var list []grid.Box
	in := map[string]int{}
	for _, box := range boxes {
		chunks, err := g.Touched(box)
		at, ok := in[fmt.Sprint(chunks)]
		if err != nil || !ok {
			in[fmt.Sprint(chunks)] = len(list)
			list = append(list, slices.Clone(box))
			continue
		}
		for i, side := range box {
			list[at][i] = grid.Interval{Start: min(list[at][i].Start, side.Start), Stop: max(list[at][i].Stop, side.Stop)}
		}
	}
	for axis := len(list[0]) - 1; axis >= 0; axis-- {
		list = joinedAlong(axis, list)
	}
	return list
}

func joinedAlong(axis int, boxes []grid.Box) (list []grid.Box) {
	open := map[string]int{} // the last box with the same other sides
	for _, box := range boxes {
		sides := fmt.Sprint(box[:axis], box[axis+1:])
		if at, ok := open[sides]; ok && list[at][axis].Stop == box[axis].Start {
			list[at][axis].Stop = box[axis].Stop
			continue
		}
		open[sides] = len(list)
		list = append(list, box)
	}
	return list
}
