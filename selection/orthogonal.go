// SPDX-License-Identifier: Apache-2.0

package selection

// Orthogonal selects along every axis independently, as np.ix_ in NumPy and oindex in
// zarr-python do. Its items are those of [Basic], [List] and [Where]. Axes without an
// item are selected whole.
//
// If lists name an element several times, a write stores the last of its values in C
// order.
type Orthogonal []Item

func (o Orthogonal) resolve(t *Target) (*Resolved, error) {
	items, err := expand(o, len(t.Shape))
	if err != nil {
		return nil, err
	}
	axes := make([]axis, len(t.Shape))
	for i, item := range items {
		if axes[i], err = item.bind(i, t.Shape[i]); err != nil {
			return nil, err
		}
	}
	return t.ofAxes(axes)
}
