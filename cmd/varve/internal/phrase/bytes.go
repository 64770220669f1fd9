// SPDX-License-Identifier: Apache-2.0

package phrase

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Bytes returns a number of bytes with a unit: 512 B, 1.5 KiB, 20 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n)/1024, 0
	// 1023.5 KiB would be rounded to 1024 KiB.
	for size >= 1023.5 && unit < len("KMGTPE")-1 {
		size, unit = size/1024, unit+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", size, "KMGTPE"[unit])
}

// ErrNoSize reports a text that is not a number with a unit.
var ErrNoSize = errors.New("give a number with a unit, as 8MiB or 500kB")

// sizeText is a number and a unit: 8MiB, 1.5 GiB, 500kB, 100 B.
var sizeText = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGTPE]?)(i?)B$`)

// ParseSize parses a number of bytes such as 8MiB. KiB, MiB … are powers of 1024, kB, MB
// … of 1000. It returns ErrNoSize if text is not a number with a unit.
func ParseSize(text string) (int64, error) {
	m := sizeText.FindStringSubmatch(strings.TrimSpace(text))
	// iB is no unit.
	if m == nil || m[2] == "" && m[3] != "" {
		return 0, ErrNoSize
	}
	number, _ := new(big.Rat).SetString(m[1]) // the pattern matches numbers only
	base := int64(1000)
	if m[3] != "" {
		base = 1024
	}
	if m[2] != "" {
		power := int64(strings.Index("KMGTPE", strings.ToUpper(m[2])) + 1)
		number.Mul(number, new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(base), big.NewInt(power), nil)))
	}
	bytes := new(big.Int).Quo(number.Num(), number.Denom())
	if !bytes.IsInt64() || bytes.Sign() == 0 {
		return 0, fmt.Errorf("%s: at least 1 B and less than 8 EiB are possible", text)
	}
	return bytes.Int64(), nil
}

// oddSize matches sizes with a misspelled unit: 8Mb, 8M, 512k.
var oddSize = regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([kKmMgGtT])(i?)[bB]?$`)

// SizeMeant returns a question with the right spelling of a misspelled size, or "".
func SizeMeant(text string) string {
	m := oddSize.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, unit := range []string{strings.ToUpper(m[2]) + m[3] + "B", strings.ToLower(m[2]) + m[3] + "B", strings.ToUpper(m[2]) + "iB"} {
		if _, err := ParseSize(m[1] + unit); err == nil && m[1]+unit != text {
			return fmt.Sprintf(" (did you mean %s?)", m[1]+unit)
		}
	}
	return ""
}
