// SPDX-License-Identifier: Apache-2.0

package blocks

// choose merges units to blocks of at most so many elements, with the least product of
// weights. It returns the product, too. The largest unit must fit.
func choose(units, others []*line, most int64, w weigh) (blocks []*line, weight float64) {
	axes := make([]axis, len(units))
	choices := make([][]choice, len(units))
	smallest := volume(units)
	for i := range axes {
		axes[i] = newAxis(units[i], others[i])
		// The other axes have at least the length of their longest unit.
		choices[i] = axes[i].choices(most/(smallest/units[i].longest), w)
	}
	picked := lightest(choices, most)
	fill(axes, picked, most, w)
	blocks, weight = make([]*line, len(axes)), 1
	for i := range axes {
		blocks[i] = axes[i].blocks(picked[i])
		weight *= picked[i].weight
	}
	return blocks, weight
}

// fill tries to use the room that the chosen lengths leave, one axis after the other.
func fill(axes []axis, picked []choice, most int64, w weigh) {
	used := int64(1)
	for _, c := range picked {
		used *= c.longest
	}
	for i, c := range picked {
		rest := used / c.longest
		for _, d := range axes[i].try(min(most/rest, axes[i].units.extent), w) {
			if d.weight < picked[i].weight {
				picked[i] = d
			}
		}
		used = rest * picked[i].longest
	}
}

// volume returns the elements of the largest block, which must fit into an int64.
func volume(blocks []*line) int64 {
	n := int64(1)
	for _, l := range blocks {
		n *= l.longest
	}
	return n
}
