-- What is known of an attempt's error, such as an expired certificate; null if nothing is. Older processes leave it out.
alter table attempts add column error_cause text;
