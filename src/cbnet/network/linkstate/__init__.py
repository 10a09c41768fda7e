"""Link-state routing: records, flooding, resynchronisation, and versions of the topology with their trees."""
