// SPDX-License-Identifier: Apache-2.0

package coding

import "context"

// Fragment is a stored chunk that becomes a part of a longer one.
type Fragment struct {
	// Start is the index of its first element in the longer chunk, and Shape its encoded
	// shape; both in elements, a number an axis.
	Start, Shape []int64
	// Source is the stored chunk. It is nil, or reports [fs.ErrNotExist], if none is
	// stored.
	Source Source
}

// Merge makes one chunk of the given encoded shape from stored chunks that lie side by
// side. It copies their inner chunks as they are encoded, and decodes nothing. Inner
// chunks that no fragment stores are not stored in the new chunk either. The caller
// releases the revision, which refers to no present version; Empty says that it stores
// nothing.
//
// Inner chunks of the fragments must be inner chunks of the new one: they begin at the
// same elements and have the same shapes. So a clipped inner chunk must come to lie at
// the end of the new chunk. If fragments do not fit, or share an inner chunk, Merge fails
// with [codec.ErrConfiguration], and the caller has to decode them instead. It fails with
// [codec.ErrCorrupt] if a fragment is damaged. The bytes of all fragments are in memory
// at once. The chain has to be [codec.Chain.Divided].
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
