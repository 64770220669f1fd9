// SPDX-License-Identifier: Apache-2.0

package selection

// Parse parses the items of a selection.
func Parse(text string, names []string) (Basic, error) { return Parser{Names: names}.basic(text) }

// ParseJSON parses JSON, whatever the text begins with.
func ParseJSON(text []byte, names []string, mask func(name string) (Mask, error)) (Selection, error) {
	return (&jsonReader{Parser: Parser{Names: names, Mask: mask}}).read(text)
}
