// SPDX-License-Identifier: Apache-2.0

package filter

// ShortRounds records finished chunks after every few writes, and returns a function that
// undoes this.
func ShortRounds(writes int) (undo func()) {
	was := roundWrites
	roundWrites = writes
	return func() { roundWrites = was }
}
