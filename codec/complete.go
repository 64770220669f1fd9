package codec

import (
	"slices"

	"varve.dev/zarr/metadata"
)

// Completer is the power of a codec whose configuration means the same with and without
// some of its members.
type Completer interface {
	// Complete is called after Bind. It returns e, of which the codec was made, with all
	// members that mean something for the bound arrays, and without those that do not.
	Complete(e metadata.Extension) metadata.Extension
}

// Complete returns the codecs exts, of which the chain was made, as they are specified,
// in their plain spelling and with the members that writers may leave out ([Completer]).
// So chains that differ only in what is spelled out become equal.
func (c *Chain) Complete(exts []metadata.Extension) []metadata.Extension {
	full := slices.Clone(c.Specified(exts))
	for i := range full {
		optional := full[i].Optional
		if f, ok := c.codec(i).(Completer); ok {
			full[i] = f.Complete(full[i])
		}
		full[i].Optional = optional
		full[i] = full[i].Plain()
	}
	return full
}

// codec returns codec i in the order of the metadata.
func (c *Chain) codec(i int) any {
	switch n := len(c.arrays); {
	case i < n:
		return c.arrays[i]
	case i == n:
		return c.serial
	default:
		return c.bytes[i-n-1]
	}
}
