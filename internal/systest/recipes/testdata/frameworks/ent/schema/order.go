// Package schema has the entities of ent.
package schema

import (
	"entgo.io/ent"
	"entgo.io/ent/dialect/entsql"
	"entgo.io/ent/schema/field"

	"github.com/uidring/uidring"
)

// An Order is an entity of ent.
type Order struct{ ent.Schema }

// Fields has a key that the database does not count up, and a reference that may be NULL.
func (Order) Fields() []ent.Field {
	return []ent.Field{
		field.Int64("id").GoType(uidring.ID(0)).Annotations(entsql.Annotation{Incremental: new(false)}),
		field.Int64("replaces").GoType(uidring.ID(0)).Optional().Nillable(),
	}
}
