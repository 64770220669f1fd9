package selection

import "fmt"

// Fields selects fields of elements that are structs, of the elements that Of selects: a single field makes elements of its type, several
// make packed structs of just these, in the order of their names here. A nil Of is the whole array.
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
	o.fields = append(o.fields[:len(o.fields):len(o.fields)], f.Names)
	return &o, nil
}

// FieldsOf returns the names that a selection takes of every element, as [Resolved.Fields] does.
func FieldsOf(sel Selection) [][]string {
	switch s := sel.(type) {
	case Fields:
		of := FieldsOf(s.Of)
		return append(of[:len(of):len(of)], s.Names)
	case *Resolved:
		return s.fields
	}
	return nil
}
