import { Link, useLocation } from 'react-router';
import classes from './page-tabs.module.css';

type Props = {
  label: string;
  /** The address that the tabs are below. */
  root: string;
  tabs: { below: string; title: string }[];
};

/** Links between the pages of one thing. Each has an address, so that it can be shared and opened in a new window. */
export function PageTabs({ label, root, tabs }: Props) {
  const { pathname } = useLocation();
  return (
    <nav aria-label={label} className={classes['tabs']}>
      {tabs.map(({ below, title }) => {
        const isHere = pathname.replace(/\/$/, '') === `${root}${below}`;
        return (
          <Link
            key={below}
            to={`${root}${below}`}
            className={classes['tab']}
            {...(isHere && { 'aria-current': 'page' as const })}
          >
            {title}
          </Link>
        );
      })}
    </nav>
  );
}
