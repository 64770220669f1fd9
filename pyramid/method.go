// SPDX-License-Identifier: Apache-2.0

package pyramid

// Method is how one element is made of a block.
type Method string

// The methods. Elements that tie for the mode give the smallest of them.
const (
	Mean    Method = "mean"    // of numbers
	Nearest Method = "nearest" // the first element of the block, of any type of fixed size
	Mode    Method = "mode"    // the most frequent element, for labels
	Min     Method = "min"
	Max     Method = "max"
)

// Methods returns all methods.
func Methods() []Method { return []Method{Mean, Nearest, Mode, Min, Max} }

// centred reports whether an element stands for the whole block, and not for its first
// element. Then its position is the centre of the block.
func (m Method) centred() bool { return m != Nearest }

// reversed returns the method for numbers in the opposite order.
func (m Method) reversed() Method {
	switch m {
	case Min:
		return Max
	case Max:
		return Min
	}
	return m
}
