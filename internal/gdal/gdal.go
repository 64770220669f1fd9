// SPDX-License-Identifier: Apache-2.0

// Package gdal parses the XML in which GDAL keeps items about the samples of a TIFF file,
// in the tag and the attribute GDAL_METADATA. Those with the roles scale, offset and
// unittype say what samples mean.
package gdal

import (
	"encoding/xml"
	"strconv"
	"strings"
)

// Metadata is the name of the attribute.
const Metadata = "GDAL_METADATA"

// Item is an item. Sample is the number of a band, counted from 0, in most of them.
type Item struct {
	Name   string `xml:"name,attr"`
	Sample string `xml:"sample,attr,omitempty"`
	Role   string `xml:"role,attr,omitempty"`
	Domain string `xml:"domain,attr,omitempty"`
	Text   string `xml:",chardata"`
}

type items struct {
	XMLName xml.Name `xml:"GDALMetadata"`
	Items   []Item   `xml:"Item"`
}

// Parse returns the items of a text as they are there, none if it is empty.
func Parse(text string) ([]Item, error) {
	if text == "" {
		return nil, nil
	}
	var all items
	err := xml.Unmarshal([]byte(text), &all)
	return all.Items, err
}

// Format is the inverse of Parse.
func Format(list []Item) ([]byte, error) { return xml.Marshal(items{Items: list}) }

// idle are the texts of roles that have no effect.
var idle = map[string]string{"scale": "1", "offset": "0", "unittype": ""}

// Meaning returns the item in the one spelling of its role, its sample and its number. ok
// is false if it has no role, and so says nothing about what samples mean.
func (i Item) Meaning() (is Item, ok bool) {
	is = Item{Sample: strings.TrimSpace(i.Sample), Role: strings.ToLower(strings.TrimSpace(i.Role)), Text: strings.TrimSpace(i.Text)}
	if x, err := strconv.ParseFloat(is.Text, 64); err == nil {
		is.Text = strconv.FormatFloat(x, 'g', -1, 64)
	}
	_, ok = idle[is.Role]
	return is, ok
}

// IsIdle reports whether an item that [Item.Meaning] has returned has no effect.
func (i Item) IsIdle() bool { return i.Text == idle[i.Role] }
