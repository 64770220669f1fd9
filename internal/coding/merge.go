// SPDX-License-Identifier: Apache-2.0

package coding

import "context"

// Fragment is a stored chunk that becomes a part of a longer one.
type Fragment struct {
	// Start is the index of its first element in the longer chunk, and Shape is its
	// encoded shape. Both are in elements and have one number for each axis.
	Start, Shape []int64
	// Source is the stored chunk. It is nil, or reports [fs.ErrNotExist], if none is
	// stored.
	Source Source
}

// Merge makes one chunk of the given encoded shape from adjacent stored chunks. It
// copies their encoded inner chunks and decodes nothing. Inner chunks that no fragment
// stores are not stored in the new chunk either. The revision refers to no present
// version; Empty means that it has no inner chunks. The caller releases it.
//
// Every inner chunk of a fragment must be an inner chunk of the new chunk, with the
// same first element and the same shape. So a clipped inner chunk must be at the end of
// the new chunk. If fragments do not fit, or share an inner chunk, Merge fails with
// [codec.ErrConfiguration], and the caller must decode them instead. It fails with
// [codec.ErrCorrupt] if a fragment is damaged. The bytes of all fragments are in memory
// at once. The chain must be [codec.Chain.Divided].
func (c *Chain) Merge(ctx context.Context, w *Work, shape []int64, fragments []Fragment) (*Revision, error) {
	if !c.inOrder {
		shape = c.permuted(shape)
		permuted := make([]Fragment, len(fragments))
		for i, f := range fragments {
			if len(f.Start) != len(c.order) || len(f.Shape) != len(c.order) {
				continue // the codec refuses the wrong number of axes
			}
			permuted[i] = Fragment{c.permuted(f.Start), c.permuted(f.Shape), f.Source}
		}
		fragments = permuted
	}
	out, err := c.divider().Merge(ctx, w, shape, fragments)
	return out, c.failSerial(err)
}
