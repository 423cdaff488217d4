package recipes

import (
	"fmt"
	"io"

	"github.com/uidring/uidring"
)

// A gqlID is a graphql.Marshaler of gqlgen.
type gqlID uidring.ID

// MarshalGQL writes the ID as a string, since JavaScript would round a number.
func (id gqlID) MarshalGQL(w io.Writer) { _, _ = fmt.Fprintf(w, "%q", uidring.ID(id)) }

// MarshalID and UnmarshalID make uidring.ID the Go type of gqlgen's scalar ID.
func MarshalID(id uidring.ID) interface{ MarshalGQL(w io.Writer) } { return gqlID(id) }

// UnmarshalID reads a string or a number.
func UnmarshalID(v any) (uidring.ID, error) { return uidring.Parse(fmt.Sprint(v)) }
