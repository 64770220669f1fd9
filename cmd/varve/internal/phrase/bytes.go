package phrase

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// Bytes returns a number of bytes as people read it: 512 B, 1.5 KiB, 20 MiB.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	size, unit := float64(n)/1024, 0
	for size >= 1023.5 && unit < len("KMGTPE")-1 {
		size, unit = size/1024, unit+1
	}
	if size < 9.95 {
		return fmt.Sprintf("%.1f %ciB", size, "KMGTPE"[unit])
	}
	return fmt.Sprintf("%.0f %ciB", size, "KMGTPE"[unit])
}

// ErrNoSize says that a text does not look like a size at all.
var ErrNoSize = errors.New("a number with a unit is needed, as 8MiB or 500kB")

// sizeText is a number and a unit: 8MiB, 1.5 GiB, 500kB, 100 B.
var sizeText = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?([kKMGTPE]?)(i?)B$`)

// ParseSize reads a number of bytes as people write it. KiB, MiB … are powers of 1024,
// kB, MB … of 1000. A text that is no number with a unit is ErrNoSize.
func ParseSize(text string) (int64, error) {
	m := sizeText.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[2] == "" && m[3] != "" {
		return 0, ErrNoSize
	}
	number, _ := new(big.Rat).SetString(m[1]) // the expression takes numbers only
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

// oddSize finds a size whose unit is written in another way: 8Mb, 8M, 512k.
var oddSize = regexp.MustCompile(`^(\d+(?:\.\d+)?) ?([kKmMgGtT])(i?)[bB]?$`)

// SizeMeant returns how a size is written that is none.
func SizeMeant(text string) string {
	m := oddSize.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	for _, unit := range []string{strings.ToUpper(m[2]) + m[3] + "B", strings.ToLower(m[2]) + m[3] + "B", strings.ToUpper(m[2]) + "iB"} {
		if _, err := ParseSize(m[1] + unit); err == nil && m[1]+unit != text {
			return fmt.Sprintf(" (is %s meant?)", m[1]+unit)
		}
	}
	return ""
}
