package codec

import (
	"slices"

	"varve.dev/zarr/metadata"
)

// Completer is the power of a codec whose configuration has optional members.
type Completer interface {
	// Complete is called after Bind, with the e that the codec was made of. It returns e
	// with all members that matter for the bound arrays, and without those that do not.
	Complete(e metadata.Extension) metadata.Extension
}

// Complete returns the specified forms of exts, which the chain was made of, in their
// plain spelling and with all optional members ([Completer]). Chains that mean the same
// become equal.
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
