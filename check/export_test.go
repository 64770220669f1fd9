// SPDX-License-Identifier: Apache-2.0

package check

// Recoded reads the JSON of a part and writes it again.
func Recoded(part []byte) ([]byte, error) {
	p, err := decodePart(part)
	if err != nil {
		return nil, err
	}
	return p.encode()
}

// CountsOf returns the sums over what was checked in a part.
func CountsOf(part []byte) (Counts, error) {
	p, err := decodePart(part)
	if err != nil {
		return Counts{}, err
	}
	return p.checked, nil
}
