package grid

import (
	"fmt"
	"strconv"

	"varve.dev/zarr/internal/strictjson"
)

// Parse returns the grid of an array of the given shape from its name and its configuration in metadata, a JSON
// object that has already passed a strict reader. The kind is kept: a rectilinear grid of equal edges stays one.
// Unknown names wrap [ErrUnsupported]; everything else that is wrong wraps [ErrInvalid] or [ErrOverflow] and carries
// the JSON pointer of the fault.
//
// Sources: zarr-specs v3 core, "Regular grids"; zarr-extensions, chunk-grids/rectilinear.
func Parse(shape []int64, name string, configuration []byte) (*Grid, error) {
	var cuts func(strictjson.Value) ([]Cut, error)
	switch name {
	case RegularName:
		cuts = regularCuts
	case RectilinearName:
		cuts = rectilinearCuts
	default:
		return nil, fmt.Errorf("%w: chunk grid %q", ErrUnsupported, name)
	}
	if configuration == nil {
		return nil, invalid("chunk grid %q needs a configuration", name)
	}
	v, err := strictjson.Parse(configuration, strictjson.Limits{})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	c, err := cuts(v)
	if err != nil {
		return nil, err
	}
	return newGrid(name, shape, c)
}

func regularCuts(v strictjson.Value) ([]Cut, error) {
	list, err := members(v, "chunk_shape")
	if err != nil {
		return nil, err
	}
	return axisCuts(list[0], func(v strictjson.Value) (Cut, error) {
		n, err := integer(v)
		return Every(n), err
	})
}

func rectilinearCuts(v strictjson.Value) ([]Cut, error) {
	m, err := members(v, "kind", "chunk_shapes")
	if err != nil {
		return nil, err
	}
	if kind, err := m[0].Str(); err != nil || kind != "inline" {
		return nil, fmt.Errorf("%w: %w", ErrUnsupported, m[0].Errorf("kind %s of a rectilinear grid; only \"inline\" is defined", m[0].Raw()))
	}
	return axisCuts(m[1], func(v strictjson.Value) (Cut, error) {
		if v.Kind() != strictjson.Array {
			n, err := integer(v)
			return Every(n), err
		}
		c := listed(listSource(v))
		return c, c.err
	})
}

// members returns the named members of an object; all are required and no others are permitted.
func members(v strictjson.Value, names ...string) ([]strictjson.Value, error) {
	if v.Kind() != strictjson.Object {
		return nil, located(v, "configuration must be an object")
	}
	found := make([]strictjson.Value, len(names))
	missing := len(names)
next:
	for name, value := range v.Members() {
		for i := range names {
			if names[i] == name {
				found[i] = value
				missing--
				continue next
			}
		}
		if name == "encoded_chunk_shapes" {
			return nil, fmt.Errorf("%w: %w", ErrUnsupported, value.Errorf("encoded_chunk_shapes (zarr-extensions pull request 75, not yet accepted)"))
		}
		return nil, located(value, "unknown member %q of the configuration", name)
	}
	if missing > 0 {
		return nil, located(v, "configuration must have the members %q", names)
	}
	return found, nil
}

func axisCuts(list strictjson.Value, cut func(strictjson.Value) (Cut, error)) ([]Cut, error) {
	if list.Kind() != strictjson.Array {
		return nil, located(list, "must be a list with one entry an axis")
	}
	var cuts []Cut
	for i, v := range list.Elements() {
		if i == MaxRank {
			return nil, located(v, "at most %d axes are possible", MaxRank)
		}
		c, err := cut(v)
		if err != nil {
			return nil, onAxis(i, err)
		}
		cuts = append(cuts, c)
	}
	return cuts, nil
}

// listSource reads the edges of one axis: integers and pairs [length, count].
func listSource(list strictjson.Value) runSource {
	return func(add func(length, count int64) error) error {
		for _, v := range list.Elements() {
			length, count, err := edge(v)
			if err != nil {
				return err
			}
			if err := add(length, count); err != nil {
				return fmt.Errorf("%w at %w", err, v.Errorf("%s", v.Raw()))
			}
		}
		return nil
	}
}

func edge(v strictjson.Value) (length, count int64, err error) {
	if v.Kind() != strictjson.Array {
		length, err = integer(v)
		return length, 1, err
	}
	if v.Len() != 2 {
		return 0, 0, located(v, "a run must be a pair [length, count]")
	}
	var pair [2]int64
	for i, n := range v.Elements() {
		if pair[i], err = integer(n); err != nil {
			return 0, 0, err
		}
	}
	return pair[0], pair[1], nil
}

func integer(v strictjson.Value) (int64, error) {
	n, err := v.Int64()
	if err != nil {
		return 0, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	return n, nil
}

func located(v strictjson.Value, format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrInvalid, v.Errorf(format, args...))
}

// AppendConfiguration appends the configuration of the grid as it stands in metadata: bare integers stay bare, and
// a list is written with runs [length, count] where that has fewer items (zarr-python's spelling).
func (g *Grid) AppendConfiguration(dst []byte) []byte {
	if g.name == RegularName {
		dst = append(dst, `{"chunk_shape": [`...)
	} else {
		dst = append(dst, `{"kind": "inline", "chunk_shapes": [`...)
	}
	for i, a := range g.axes {
		dst = separate(dst, i)
		if a.IsRegular() {
			dst = strconv.AppendInt(dst, a.step, 10)
			continue
		}
		dst = append(dst, '[')
		first := len(dst)
		for r := range a.Edges() {
			dst = appendEdges(separate(dst, len(dst)-first), r)
		}
		dst = append(dst, ']')
	}
	return append(dst, "]}"...)
}

func appendEdges(dst []byte, r Run) []byte {
	if r.Count == 1 {
		return strconv.AppendInt(dst, r.Length, 10)
	}
	dst = strconv.AppendInt(append(dst, '['), r.Length, 10)
	dst = strconv.AppendInt(append(dst, ", "...), r.Count, 10)
	return append(dst, ']')
}

func separate(dst []byte, before int) []byte {
	if before > 0 {
		dst = append(dst, ", "...)
	}
	return dst
}
