// SPDX-License-Identifier: Apache-2.0

package selection

import "fmt"

// Fields selects fields of structs, for the elements that Of selects. A single field
// gives elements of the field's type. Several fields give packed structs of these fields,
// in the order of Names. If Of is nil, the whole array is selected.
type Fields struct {
	Names []string
	Of    Selection
}

func (f Fields) resolve(t *Target) (*Resolved, error) {
	if len(f.Names) == 0 {
		return nil, fmt.Errorf("%w: no field is named", ErrInvalid)
	}
	r, err := t.Resolve(f.Of)
	if err != nil {
		return nil, err
	}
	o := *r
	// The full slice expression forces a copy, because r may be in use elsewhere.
	o.fields = append(o.fields[:len(o.fields):len(o.fields)], f.Names)
	return &o, nil
}
