// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"fmt"
	"regexp"
	"strings"

	"varve.dev/zarr/cf/calendar"
)

// otherDates match dates in other forms.
var otherDates = []struct {
	form *regexp.Regexp
	made string
}{
	{regexp.MustCompile(`^(\d{4})(\d\d)(\d\d)([Tt ].*)?$`), "$1-$2-$3$4"},
	{regexp.MustCompile(`^(\d{4})(\d\d)$`), "$1-$2"},
	{regexp.MustCompile(`^(\d{4})[/._](\d\d?)[/._](\d\d?)([Tt ].*)?$`), "$1-$2-$3$4"},
	{regexp.MustCompile(`^(\d{4})[/._](\d\d?)$`), "$1-$2"},
	{regexp.MustCompile(`^(.*[Tt ]\d\d)(\d\d)$`), "$1:$2"},
	{regexp.MustCompile(`^(.*[Tt ]\d\d)(\d\d)(\d\d)$`), "$1:$2:$3"},
}

// Respell returns a date in the form that [calendar.ParseInstant] accepts, if the text
// is a date in another form such as 20241225 or 2024/12/25. It returns "" for any other
// text.
func Respell(text string, c calendar.Calendar) string {
	made := strings.TrimSpace(text)
	for _, o := range otherDates {
		made = o.form.ReplaceAllString(made, o.made)
	}
	if _, err := calendar.ParseInstant(made, c); err != nil || made == strings.TrimSpace(text) {
		return ""
	}
	return made
}

// Hint returns in parentheses how to write the date that a text may mean, for the message
// about a text that [calendar.ParseInstant] rejects.
func Hint(text string, c calendar.Calendar) string {
	if made := Respell(text, c); made != "" {
		return fmt.Sprintf(" (did you mean %s?)", made)
	}
	if strings.Trim(text, "0123456789-") == "" {
		return "" // a day that the calendar does not have
	}
	return " (write dates as 2024-12-25 and months as 2024-12)"
}
