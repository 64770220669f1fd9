// SPDX-License-Identifier: Apache-2.0

package cf

import (
	"encoding/xml"
	"slices"
	"strconv"
	"strings"

	"varve.dev/zarr/strictjson"
)

// gdalMetadata is the attribute for the tag in which GDAL keeps items as XML. Those with
// the roles scale, offset and unittype say what samples mean.
const gdalMetadata = "GDAL_METADATA"

type gdalItems struct {
	XMLName xml.Name   `xml:"GDALMetadata"`
	Items   []gdalItem `xml:"Item"`
}

type gdalItem struct {
	Name   string `xml:"name,attr"`
	Sample string `xml:"sample,attr,omitempty"`
	Role   string `xml:"role,attr,omitempty"`
	Domain string `xml:"domain,attr,omitempty"`
	Text   string `xml:",chardata"`
}

// itemsOf returns the items of an attribute. ok is false if it cannot be parsed.
func itemsOf(v strictjson.Value) (items []gdalItem, ok bool) {
	if v.IsZero() {
		return nil, true
	}
	text, err := v.Str()
	if err != nil {
		return nil, false
	}
	var all gdalItems
	err = xml.Unmarshal([]byte(text), &all)
	return all.Items, err == nil
}

// sameRoles reports whether samples mean the same by two attributes. Those that cannot be
// parsed do not.
func sameRoles(a, b strictjson.Value) bool {
	x, ok := itemsOf(a)
	y, also := itemsOf(b)
	return ok && also && slices.Equal(rolesOf(x), rolesOf(y))
}

// rolesOf returns the items that say what samples mean, in one order and spelling. It
// leaves out those without an effect.
func rolesOf(items []gdalItem) (roles []gdalItem) {
	for _, i := range items {
		role := strings.ToLower(i.Role)
		idle := map[string]string{"scale": "1", "offset": "0", "unittype": ""}
		least, known := idle[role]
		text := strings.TrimSpace(i.Text)
		if x, err := strconv.ParseFloat(text, 64); err == nil {
			text = strconv.FormatFloat(x, 'g', -1, 64)
		}
		if known && text != least {
			roles = append(roles, gdalItem{Sample: i.Sample, Role: role, Text: text})
		}
	}
	slices.SortFunc(roles, func(a, b gdalItem) int {
		return strings.Compare(a.Sample+" "+a.Role+" "+a.Text, b.Sample+" "+b.Role+" "+b.Text)
	})
	return slices.Compact(roles)
}

// commonItems returns the items that two attributes share as JSON, nil if there are none.
func commonItems(a, b strictjson.Value) []byte {
	x, _ := itemsOf(a)
	y, _ := itemsOf(b)
	x = slices.DeleteFunc(x, func(i gdalItem) bool { return !slices.Contains(y, i) && len(rolesOf([]gdalItem{i})) == 0 })
	if len(x) == 0 || len(y) == 0 {
		return nil
	}
	text, err := xml.Marshal(gdalItems{Items: x})
	if err != nil {
		return nil
	}
	return strictjson.AppendQuote(nil, string(text))
}
